"""An OpenID provider as a process: django-allauth's own, which knows two people and one client."""

CLIENT, SECRET = "palimpsest", "a secret of both"
# Names, with their groups; the password is the name.
PEOPLE: dict[str, list[str]] = {"dana": ["writers"], "erin": []}
