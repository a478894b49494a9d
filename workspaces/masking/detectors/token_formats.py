"""The formats of tokens that their issuers publish (PR-7, PR-8)."""

import re

_WORD = r"[A-Za-z0-9]"
_SAFE = r"[A-Za-z0-9_-]"

# A character without which none of the group can be there, then prefix and what follows it.
FORMATS: dict[str, tuple[tuple[str, str], ...]] = {
    "_": (
        *((f"gh{letter}_", r"[A-Za-z0-9]{30,}") for letter in "pousr"),
        ("github_pat_", r"[A-Za-z0-9_]{40,}"),
        *(
            (f"{kind}_{mode}_", r"[A-Za-z0-9]{16,}")
            for kind in ("sk", "rk")
            for mode in ("live", "test", "prod")
        ),
        ("whsec_", r"[A-Za-z0-9+/=]{20,}"),
        ("lst_", rf"{_SAFE}{{16,}}"),
        ("lsp_", rf"{_SAFE}{{16,}}"),
        ("npm_", r"[A-Za-z0-9]{30,}"),
        ("hf_", r"[A-Za-z0-9]{30,}"),
        ("api_org_", r"[A-Za-z0-9]{30,}"),
        ("gsk_", r"[A-Za-z0-9]{40,}"),
        ("r8_", r"[A-Za-z0-9]{30,}"),
        ("sbp_", r"[a-f0-9]{40,}"),
        *((f"do{letter}_v1_", r"[a-f0-9]{60,}") for letter in "por"),
        *((f"shp{kind}_", r"[a-fA-F0-9]{32,}") for kind in ("at", "ss", "ca", "pa")),
        ("lin_api_", r"[A-Za-z0-9]{32,}"),
        ("lin_oauth_", r"[A-Za-z0-9]{32,}"),
        ("ntn_", r"[A-Za-z0-9]{40,}"),
        ("secret_", r"[A-Za-z0-9]{40,}"),
        ("glsa_", r"[A-Za-z0-9_]{32,}"),
        ("glc_", r"[A-Za-z0-9+/=]{32,}"),
        ("dckr_pat_", rf"{_SAFE}{{20,}}"),
        ("dckr_oat_", rf"{_SAFE}{{20,}}"),
        ("sntrys_", r"[A-Za-z0-9+/=_]{32,}"),
        ("sntryu_", r"[a-f0-9]{64}"),
        ("rubygems_", r"[a-f0-9]{48}"),
        ("figd_", rf"{_SAFE}{{38,}}"),
        *((f"pscale_{kind}_", r"[A-Za-z0-9=._-]{32,}") for kind in ("pw", "tkn", "oauth")),
        ("nfp_", r"[A-Za-z0-9]{36,}"),
        ("vcp_", r"[A-Za-z0-9]{24,}"),
        ("tfp_", r"[A-Za-z0-9_.=-]{40,}"),
        ("sgp_", r"[a-fA-F0-9_]{40,}"),
        ("rdme_", r"[a-z0-9]{70}"),
        ("phx_", r"[A-Za-z0-9]{40,}"),
        ("lsv2_", r"(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
        ("pnu_", r"[A-Za-z0-9]{36}"),
        ("bkua_", r"[a-z0-9]{40}"),
        ("aio_", r"[A-Za-z0-9]{28}"),
        ("CLOJARS_", r"[a-z0-9]{60}"),
        ("duffel_live_", r"[A-Za-z0-9_=-]{40,}"),
        ("duffel_test_", r"[A-Za-z0-9_=-]{40,}"),
        ("ops_", r"eyJ[A-Za-z0-9+/=_-]{100,}"),
        ("fm2_", r"[A-Za-z0-9+/=]{80,}"),
        ("APP_USR-", r"[A-Za-z0-9-]{20,}"),
    ),
    "-": (
        ("sk-", rf"(?=[A-Za-z_-]{{0,256}}[0-9]){_SAFE}{{20,}}"),
        *((f"gl{kind}-", rf"{_SAFE}{{20,}}") for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft", "oas")),
        *((f"gl{kind}-", rf"{_SAFE}{{20,}}") for kind in ("soat", "agent", "imt", "wt")),
        *((f"xox{letter}-", r"[A-Za-z0-9-]{20,}") for letter in "abeoprs"),
        ("xoxe.xoxp-", r"[A-Za-z0-9-]{20,}"),
        ("xapp-", r"[A-Za-z0-9-]{20,}"),
        ("GOCSPX-", rf"{_SAFE}{{20,}}"),
        ("pypi-", rf"{_SAFE}{{40,}}"),
        ("pplx-", r"[A-Za-z0-9]{40,}"),
        ("xai-", r"[A-Za-z0-9]{40,}"),
        ("tvly-", r"[A-Za-z0-9-]{28,}"),
        ("key-", r"[a-f0-9]{32,}"),
        ("pul-", r"[a-f0-9]{40}"),
        ("NRAK-", r"[A-Z0-9]{26,}"),
        ("NRII-", rf"{_SAFE}{{32}}"),
        ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
        ("CFPAT-", rf"{_SAFE}{{43}}"),
        ("HRKU-", rf"{_SAFE}{{36,}}"),
        ("xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
        ("xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
        ("fio-u-", rf"{_SAFE}{{64}}"),
        ("sq0atp-", rf"{_SAFE}{{22,}}"),
        ("sq0csp-", rf"{_SAFE}{{43,}}"),
        ("AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    ),
    ".": (
        ("SG.", rf"{_SAFE}{{16,64}}\.{_SAFE}{{16,}}"),
        ("ya29.", r"[A-Za-z0-9_.-]{20,}"),
        *((f"hv{letter}.", rf"{_SAFE}{{24,}}") for letter in "sbr"),
        *((f"dp.{kind}.", r"[A-Za-z0-9._]{40,}") for kind in ("pt", "st", "ct", "sa", "scim", "audit")),
        ("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
        ("amzn.mws.", r"[0-9a-f-]{36}"),
    ),
    "/": (
        ("hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}"),
        ("hooks.slack.com/workflows/", r"[A-Za-z0-9/]{20,}"),
        ("discord.com/api/webhooks/", r"[A-Za-z0-9_/-]{40,}"),
        ("1//0", rf"{_SAFE}{{40,}}"),
    ),
    "A": (
        *((kind, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for kind in ("AKIA", "ASIA", "ABIA", "ACCA")),
        ("AIza", rf"{_SAFE}{{35,}}"),
        ("ATATT3", r"[A-Za-z0-9_=-]{40,}"),
        ("ATCTT3", r"[A-Za-z0-9_=-]{40,}"),
        ("ATBB", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
        ("EAAA", rf"{_SAFE}{{60}}(?!{_SAFE})"),
        ("EAACEdEose0cBA", r"[A-Za-z0-9]{20,}"),
        ("LTAI", r"[A-Za-z0-9]{20}(?![A-Za-z0-9])"),
    ),
    "S": (("SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),),
    "d": (("dapi", r"[0-9a-f]{32,}"),),
    "p": (("pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),),
    "E": (("EZAK", r"[A-Za-z0-9]{54}"), ("EZTK", r"[A-Za-z0-9]{54}")),
}  # fmt: skip

# Formats without a prefix: what must be in the text, and the whole, of which the group is the secret.
OTHER_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("-us", re.compile(rf"(?<!{_WORD})([0-9a-f]{{32}}-us[0-9]{{1,2}})(?!{_WORD})")),
    (".atlasv1.", re.compile(rf"(?<!{_WORD})({_WORD}{{14}}\.atlasv1\.{_SAFE}{{60,80}})")),
    (".", re.compile(rf"(?<![A-Za-z0-9_.-])([MNO]{_SAFE}{{23,27}}\.{_SAFE}{{6}}\.{_SAFE}{{27,45}})(?![A-Za-z0-9_.-])")),
    ("sig=", re.compile(r"[?&;]sig=([A-Za-z0-9%/+]{40,90}(?:%3[dD]|=))")),
    (":AA", re.compile(r"(?<![0-9A-Za-z])([0-9]{8,10}:AA[A-Za-z0-9_-]{33})")),
)  # fmt: skip
LONG = 58
"""How many the one has whose sign is only a dot."""
SHORTEST = 20
"""How many characters in a row, with nothing but letters, digits and `_+/=.-`, each of the formats has at least."""
