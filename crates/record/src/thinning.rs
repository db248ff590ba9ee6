//! Lists that stay bounded however long a run takes: their values become further apart. When that is needed, is up to their owners.

/// Drops every second item of a list: the first one stays, the next is dropped, and so on.
pub(crate) fn drop_every_second<T>(list: &mut Vec<T>) {
    let mut stays = false;
    list.retain(|_| {
        stays = !stays;
        stays
    });
}
