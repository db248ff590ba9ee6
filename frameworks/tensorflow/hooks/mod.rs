//! Functions of TensorFlow that ours stand before. They are found by name: TensorFlow calls them through virtual tables or by name,
//! both of which the dynamic linker fills in, so nothing is patched.

mod pools;
mod sessions;
mod work;
