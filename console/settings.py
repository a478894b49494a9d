"""Django's settings. What differs between deployments comes from console.env and nowhere else."""

from pathlib import Path

from csp.constants import NONE, SELF

from console import env

BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = env.secret_key()
DEBUG = False
ALLOWED_HOSTS = env.allowed_hosts()

LASTRO_ENVIRONMENT = env.environment()
LASTRO_BASE_URL = env.base_url()
LASTRO_MASTER_KEY = env.master_key()
LASTRO_MASTER_KEYS_PREVIOUS = env.previous_master_keys()
LASTRO_METRICS_TOKEN = env.metrics_token()
LASTRO_METRICS_ARE_SHARED = env.metrics_are_shared()
CHECKPOINTS_URL = env.checkpoints_url()
CHECKPOINTS_SECRET = env.checkpoints_secret()
TRUSTED_PROXIES = env.trusted_proxies()
HOT_STORE_URL = env.hot_store_url()
HOT_STORE_REQUIRED = env.hot_store_required()
HOT_STORE_GENERATION = env.hot_store_generation()
RATE_LIMITS = env.rate_limits()
READ_WITHIN_SECONDS = env.read_within_seconds()
SECOND_FACTOR_REQUIRED = env.second_factor_required()
OPENID = env.openid()

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "csp",
    "guardian",
    "rest_framework",
    "drf_spectacular",
    "workspaces",
    "agentstate",
    "history",
    "assembly",
    "privacy",
    "console",
]

LASTRO_ADMIN = env.admin()
if LASTRO_ADMIN:
    INSTALLED_APPS.append("django.contrib.admin.apps.SimpleAdminConfig")

MIDDLEWARE = ["console.middleware.RequestLog", "console.middleware.PagesOnly"]
# Static files, sessions, CSRF and the rest are for people's pages: /v1 never meets them (PL-10).
PAGE_MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "console.middleware.PagePolicy",
]

# Security, X-Frame-Options and CSRF: Django looks for them in MIDDLEWARE alone, lastro.E001 looks where they are.
SILENCED_SYSTEM_CHECKS = ["security.W001", "security.W002", "security.W003"]
if LASTRO_ADMIN:
    # Sessions, sign-in and messages, for the same reason.
    SILENCED_SYSTEM_CHECKS += ["admin.E408", "admin.E409", "admin.E410"]

ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "console.context.shell",
                *(["django.contrib.auth.context_processors.auth"] if LASTRO_ADMIN else []),
            ]
        },
    }
]

_KEPT_OPEN = {
    "ENGINE": "workspaces.postgresql",
    "CONN_MAX_AGE": None,
    "CONN_HEALTH_CHECKS": True,
}
DATABASES = {
    "default": env.database() | _KEPT_OPEN | {"TEST": {"TEMPLATE": "template0"}},
    "keys": env.keys_database() | _KEPT_OPEN | {"TEST": {"TEMPLATE": "template0"}},
}
DATABASE_ROUTERS = ["workspaces.postgresql.router.KeysApart"]
LASTRO_DATABASE_OWNERS = env.database_owners()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "workspaces.Person"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "console:sign_in"
LOGIN_REDIRECT_URL = "console:home"
PASSWORD_RESET_TIMEOUT = 3600

CELERY_BROKER_URL = env.broker_url()

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("pt-br", "Português (Brasil)"), ("fr", "Français")]
LOCALE_PATHS = [BASE_DIR / "console" / "locale"]
FORMAT_MODULE_PATH = ["console.formats"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STORAGES = {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "payloads": env.payloads_storage(BASE_DIR / ".lastro" / "payloads"),
}

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True

vars().update(env.email())
DEFAULT_FROM_EMAIL = "Lastro <lastro@localhost>"

# The web (PL-19). In production everything is HTTPS.
SECURE_CONTENT_TYPE_NOSNIFF = True
# Not "no-referrer": browsers then send `Origin: null` with a form, and CSRF refuses it. No other site learns anything.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = env.https()
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if env.https() else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.https()
SECURE_HSTS_PRELOAD = env.https()
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.trusted_proxies() else None
SESSION_COOKIE_SECURE = env.https()
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "lastro_session"
SESSION_ENGINE = "console.sessions"
SESSION_COOKIE_AGE = env.idle_minutes() * 60
SESSION_SAVE_EVERY_REQUEST = True
# The server ends a session. A cookie that ended with it could not tell that there was one.
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
CSRF_COOKIE_SECURE = env.https()
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "console.views.errors.csrf_failure"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
# The largest body of any route; each has its own limit in workspaces/http/limits.py.
DATA_UPLOAD_MAX_MEMORY_SIZE = 9 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["workspaces.http.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["workspaces.http.permissions.NeedsMet"],
    "DEFAULT_RENDERER_CLASSES": ["workspaces.http.renderers.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["workspaces.http.parsers.StrictJsonParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "workspaces.http.renderers.OnlyJson",
    "DEFAULT_SCHEMA_CLASS": "workspaces.http.openapi.RouteSchema",
    "EXCEPTION_HANDLER": "workspaces.http.exceptions.answer_problem",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Lastro",
    "VERSION": "1",
    "DESCRIPTION": "The state of AI agents, under a company's governance.",
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": LASTRO_BASE_URL}],
    "TAGS": [
        {
            "name": "Working memory",
            "description": "The small state that an agent's code keeps between turns.",
        },
        {
            "name": "History",
            "description": "The messages of an agent's run between its steps, under one worker's reservation.",
        },
        {
            "name": "Context",
            "description": "What agents did, saw and know, and the context that a model is given of it.",
        },
        {"name": "Profiles", "description": "The people that states name, found by an identifier."},
        {
            "name": "Subject packages",
            "description": "All that is kept about a person, as a zip behind a link.",
        },
        {"name": "Documents", "description": "What a workspace has decided: features, types, masking."},
        {
            "name": "Privacy",
            "description": "What is kept about a person: erased with a receipt, packaged, held.",
        },
        {"name": "Platform", "description": "Who a key is, what a client may use, and this description."},
    ],
    "SCHEMA_PATH_PREFIX": "/v1",
    "SORT_OPERATIONS": False,
    "PREPROCESSING_HOOKS": ["workspaces.http.openapi.only_v1"],
    "POSTPROCESSING_HOOKS": [],
}

LOGGING_CONFIG = None
LOG_LEVEL = env.log_level()

from console import logging as _logging  # noqa: E402  (needs LOG_LEVEL)

_logging.configure(LOG_LEVEL)
