//! Programs and limits that leave us little room: the program must not notice, and what we miss must be counted.
//!
//! What stands elsewhere: `_exit`, coroutines and handlers that allocate in `exactness`, `vfork` + `exec`, closed streams and
//! foreign preloads in `processes`, SIGKILL in `kill`, static, setuid and sanitized programs in `unrecordable`.

mod changes;
mod children;
mod framework_names;
mod limits;
mod nested;
mod operators;
mod own_allocators;
mod space;
mod stacks;
mod threads;
