//! What is known of this process as a whole, apart from its tables: what the agent does in it, what it was asked to do, and how
//! the programs that it starts are followed. It knows system calls and nothing else of this crate.

pub mod clock;
mod exec_memory;
pub mod follow;
mod inspect;
mod life;
pub mod path;
pub mod settings;
pub(crate) mod wake_up;

pub use life::{Life, is_forked, is_quick, life};
pub(crate) use life::{is_own_arena, make_life_page, set_forked, set_life};
pub(crate) use settings::read_settings;
pub use settings::{Settings, settings};
