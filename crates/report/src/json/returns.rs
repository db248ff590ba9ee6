//! The reclaim test: what gc.collect() and malloc_trim() gave back.

use heaplens_analyze::profile::{Collected, ReclaimTest, Resident};

#[derive(serde::Serialize)]
pub(super) struct ReturnFields {
    collected: Option<CollectedFields>,
    trimmed: Option<ResidentFields>,
}

#[derive(serde::Serialize)]
struct CollectedFields {
    heap_bytes: u64,
    python_object_bytes: u64,
    #[serde(flatten)]
    rss: ResidentFields,
}

#[derive(serde::Serialize)]
struct ResidentFields {
    rss_before: u64,
    rss_after: u64,
}

pub(super) fn returns(returns: ReclaimTest) -> ReturnFields {
    ReturnFields { collected: returns.collected.map(collected), trimmed: returns.trimmed.map(resident) }
}

fn collected(collected: Collected) -> CollectedFields {
    CollectedFields {
        heap_bytes: collected.heap.get(),
        python_object_bytes: collected.objects.get(),
        rss: resident(collected.rss),
    }
}

fn resident(resident: Resident) -> ResidentFields {
    ResidentFields { rss_before: resident.before.get(), rss_after: resident.after.get() }
}
