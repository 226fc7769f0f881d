"""Operations on conversations: rewind, fork, pin, share."""
