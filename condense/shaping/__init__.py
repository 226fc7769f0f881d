"""Turn an effective history into a request that the Messages API accepts."""
