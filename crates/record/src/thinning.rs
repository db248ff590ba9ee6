//! Lists that stay bounded however long a run takes: their values become further apart. When that is needed, is up to their owners.

/// Makes room in a list that must stay bounded: the first one stays, the next goes, and so on.
pub(crate) fn drop_every_second<T>(list: &mut Vec<T>) {
    let mut stays = false;
    list.retain(|_| {
        stays = !stays;
        stays
    });
}
