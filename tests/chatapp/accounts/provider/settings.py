"""Django as a provider; the database is a file in the current folder."""

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

PACKAGE = "tests.chatapp.accounts.provider"

ALLOWED_HOSTS = ["127.0.0.1"]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "provider.sqlite3"}}
IDP_OIDC_ADAPTER = f"{PACKAGE}.adapter.Adapter"
IDP_OIDC_PRIVATE_KEY = (
    rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "allauth",
    "allauth.account",
    "allauth.idp.oidc",
]
LOGIN_REDIRECT_URL = "/"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
# A real hash is slow on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ROOT_URLCONF = f"{PACKAGE}.urls"
SECRET_KEY = "of the provider"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
