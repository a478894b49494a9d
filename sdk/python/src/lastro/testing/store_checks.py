"""The rules of the contract of stores, one check each (HI-1 to HI-6, HI-10, HI-21, HI-23, HI-25)."""

from collections.abc import Callable

from lastro.testing.checks import appends, bounds, busy, expiry, sessions, trees
from lastro.testing.uses import Settable, Use

Check = Callable[[Use], None]

ALWAYS: tuple[Check, ...] = (
    sessions.order_is_kept,
    sessions.nothing_given_makes_no_session,
    sessions.view_of_new_session_is_none,
    sessions.exception_leaves_old_record,
    sessions.interrupt_leaves_old_record,
    sessions.unknown_is_not_made_without_create,
    sessions.namespaces_never_meet,
    sessions.snapshot_is_detached,
    sessions.given_message_is_detached,
    sessions.delete_is_idempotent,
    sessions.head_is_kept,
    sessions.counts_are_the_stores,
    appends.message_comes_back_as_it_was,
    appends.bad_items_are_refused_whole,
    appends.same_key_stores_nothing,
    appends.same_key_with_other_messages_is_refused,
    appends.known_gives_the_first_answer,
    appends.opaque_items_are_listed_and_taken_back,
    appends.clear_takes_all_that_was_there,
    busy.second_decision_is_refused,
    busy.every_other_call_is_refused,
    busy.other_sessions_go_on,
    busy.recovery_needs_the_word,
    busy.recovered_decision_is_not_stored,
    busy.first_decision_recovered_leaves_no_session,
    busy.recovery_is_idempotent,
    trees.path_ends_at_the_leaf,
    trees.sibling_stays_readable,
    trees.long_path_is_read_whole_and_in_part,
    trees.instructions_stand_first,
    trees.fork_shares_up_to_the_item,
    trees.fork_of_a_branch_has_its_path_only,
    trees.fork_goes_its_own_way,
    trees.fork_is_refused,
)
BOUNDED: tuple[Check, ...] = (
    bounds.full_store_refuses_before_the_operation,
    bounds.bytes_of_all_sessions_are_bounded,
    bounds.bytes_of_one_session_are_bounded,
    bounds.summary_counts,
    bounds.refusal_is_atomic,
    bounds.deleting_makes_room,
    bounds.sweeping_makes_room,
    bounds.fork_is_bounded,
)
TIMED: tuple[Check, ...] = (
    expiry.idle_session_ends,
    expiry.reading_does_not_renew,
    expiry.each_session_ends_by_its_own_time,
    expiry.nothing_saved_does_not_renew,
    expiry.idle_session_makes_room,
    expiry.reserved_session_stays,
    expiry.expired_item_is_not_read,
    expiry.expired_summary_ends_alone,
)
CHECKS: tuple[Check, ...] = (*ALWAYS, *BOUNDED, *TIMED)


def may_run(check: Check, settable: Settable) -> bool:
    """Say whether a store can be set as a check needs."""
    return (settable.bounds or check not in BOUNDED) and (settable.clock or check not in TIMED)
