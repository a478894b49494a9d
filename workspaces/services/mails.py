"""How many mails a stranger can have sent: to one address, and from one network (PL-4)."""

from workspaces import deployment, hotstore
from workspaces.hotstore import Bucket, HotStoreDown, bucket_of
from workspaces.rules.sign_ins import network_of

LINKS_AT_ONCE, LINKS_PER_SECOND = 3, 1 / 600
OF_A_NETWORK_AT_ONCE, OF_A_NETWORK_PER_SECOND = 20, 1 / 30


def may_mail_link(*, email: str, address: str) -> bool:
    """Tell whether a link for a new password is mailed; who asks is never told, or they would know the address.

    A hot store that does not answer limits nobody.
    """
    to = bucket_of("link-to", deployment.hashed("link-to", email.lower()))
    asker = bucket_of("link-from", network_of(address).encode())
    buckets = [
        Bucket(to, LINKS_PER_SECOND, LINKS_AT_ONCE),
        Bucket(asker, OF_A_NETWORK_PER_SECOND, OF_A_NETWORK_AT_ONCE),
    ]
    try:
        spent, _ = hotstore.look([], buckets=buckets)
    except HotStoreDown:
        return True
    return not spent.wait_ms
