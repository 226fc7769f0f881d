"""Everything that is stored, by theme.

``accounts``       who signs in, and how they want things: SignInToken, Profile, Preferences
``conversations``  what was said: Conversation, Message, Turn, Rewind
``records``        what was done about it: Condensation, ModelCall
"""

from chatapp.models.accounts import Preferences, Profile, SignInToken
from chatapp.models.conversations import Conversation, Message, Rewind, Turn
from chatapp.models.records import Condensation, ModelCall

__all__ = [
    "Condensation",
    "Conversation",
    "Message",
    "ModelCall",
    "Preferences",
    "Profile",
    "Rewind",
    "SignInToken",
    "Turn",
]
