"""Fixed settings: those of Django and its apps that are the same on every server."""

from django.utils.csp import CSP

# Characters of one message; longer texts go into a file of the workspace.
LONGEST_MESSAGE = 500_000

# The order is Django's; WhiteNoise stands early so that static files skip the rest.
MIDDLEWARE = [
    "chatapp.project.middleware.request_ids",
    "chatapp.project.middleware.for_monitors",
    "chatapp.project.middleware.client_address",
    "chatapp.project.middleware.permissions_policy",
    "chatapp.project.middleware.files_version",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "chatapp.project.middleware.one_address",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # The size tells no secret: the token is masked, and sizes are padded at random.
    "django.middleware.gzip.GZipMiddleware",
    "chatapp.project.middleware.only_utf_8",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "chatapp.project.languages.account_language",
    "allauth.account.middleware.AccountMiddleware",
    "chatapp.accounts.visits.note_visits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

# HTTP addresses.
ROOT_URLCONF = "chatapp.urls"

# The one entry for HTTP and WebSocket; any ASGI server can run it.
ASGI_APPLICATION = "chatapp.asgi.application"

# Forms are rendered by the templates of the project, too.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# Accounts are Django's own, and their pages django-allauth's; guesses at passwords are limited.
AUTHENTICATION_BACKENDS = ["chatapp.accounts.credentials.LimitedBackend"]

# Joining and signing in. ``LimitedBackend`` counts wrong passwords: an account's own limit would
# let strangers lock it. An account counts wrong codes: only a person with the password comes that
# far.
ACCOUNT_ADAPTER = "chatapp.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = {
    "login": None,
    "login_failed": "10/900s/key",
    "reset_password": "5/m/ip",
    "confirm_email": "20/h/key",
}
ACCOUNT_FORMS = {
    "reset_password": "chatapp.web.forms.accounts.ForgottenForm",
    "reset_password_from_key": "chatapp.web.forms.accounts.LinkedForm",
    "change_password": "chatapp.web.forms.accounts.ChangedForm",
    "set_password": "chatapp.web.forms.accounts.FirstForm",
}
# An address belongs to the user who follows the link mailed there, whoever has named it.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_PREVENT_ENUMERATION = "strict"

# Second factors. A code that was shown once is not shown again; passkeys sign in by themselves.
MFA_ADAPTER = "chatapp.accounts.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Palimpsest"
MFA_FORMS = {
    "add_webauthn": "chatapp.web.forms.accounts.NewKeyForm",
    "edit_webauthn": "chatapp.web.forms.accounts.KeyForm",
}

SOCIALACCOUNT_ADAPTER = "chatapp.accounts.adapters.SingleSignOnAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = "single-sign-on"

# Rules for passwords.
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Where people without a session are sent, and where they arrive afterwards.
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "conversations"
LOGOUT_REDIRECT_URL = "account_login"

# No script needs the cookies: pages carry the CSRF token themselves.
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "chatapp.web.views.sign_in.refuse_forgery"
CSRF_COOKIE_SAMESITE = "Lax"

# Only this server's own files run or load; 'self' covers its WebSocket too.
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "object-src": [CSP.NONE],
}

# A page in a frame could be clicked through unseen.
X_FRAME_OPTIONS = "DENY"

# Sign-in links carry a token, which no other site may learn from a Referer header.
SECURE_REFERRER_POLICY = "same-origin"

# A language is a folder in chatapp/locale. Background jobs use the language of the code.
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("ar", "Arabic"),
    ("de", "German"),
    ("en", "English"),
    ("es", "Spanish"),
    ("fr", "French"),
    ("hi", "Hindi"),
    ("ja", "Japanese"),
    ("ko", "Korean"),
    ("pt-br", "Brazilian Portuguese"),
    ("ru", "Russian"),
    ("zh-hans", "Simplified Chinese"),
]
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_AGE = 31_536_000  # a year, in seconds

# Times are stored in UTC and shown in the reader's zone.
TIME_ZONE = "UTC"
USE_TZ = True

# A server that starts collects static files under names that carry a hash of their content, which
# browsers keep; with DEBUG they are served from where they lie, so that an edit shows on reload.
STATIC_URL = "static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "chatapp.project.static_files.HashedStorage"},
}

# A file without a hash in its name is checked again at each use.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 0
# No page asks for the others, and each would be compressed twice.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

# A longest message in a form, in a script whose characters are nine bytes there.
DATA_UPLOAD_MAX_MEMORY_SIZE = 9 * LONGEST_MESSAGE + 100_000

# Files of one form, each with its path: a folder that is put into a workspace.
DATA_UPLOAD_MAX_NUMBER_FILES = 5_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = DATA_UPLOAD_MAX_NUMBER_FILES + 1_000

# No other site has a reason to load this one's files.
WHITENOISE_ALLOW_ALL_ORIGINS = False
