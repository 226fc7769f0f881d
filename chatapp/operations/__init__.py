"""Operations: processes, background jobs, monitoring and errors."""
