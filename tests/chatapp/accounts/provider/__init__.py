"""An OpenID provider as a process: django-allauth's own, with three people and one client."""

CLIENT, SECRET = "palimpsest", "a secret of both"
# Names, with their groups; the password is the name.
PEOPLE: dict[str, list[str]] = {"dana": ["writers"], "erin": [], "finn": []}
# Whose addresses the provider has not looked at.
UNVERIFIED = {"finn"}
