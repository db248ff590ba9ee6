//! The agent library as a file: its name, the file that the dynamic linker loads, and the cache folder that holds one for each version.
//! It never loads the agent and knows nothing of what it does.

mod cache;
mod file;
mod name;

pub use file::{AgentFile, NoDirectoryForAgent};
pub(crate) use file::{Folders, install};
pub(crate) use name::is_agent;
