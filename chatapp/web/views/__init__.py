"""The pages, one file each: a queryset in, a template out."""
