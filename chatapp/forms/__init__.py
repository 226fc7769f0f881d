"""Forms: what people may enter, and in which bounds."""
