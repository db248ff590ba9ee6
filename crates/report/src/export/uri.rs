//! Files as URIs, which some formats require, and a stable hash of a text.

use std::fmt::Write;

use serde_json::{Value, json};

/// The folder that paths are relative to.
pub(super) struct Root(String);

impl Root {
    /// The name of the folder in a log.
    pub(super) const ID: &'static str = "SRCROOT";

    pub(super) fn new(folder: &str) -> Self {
        Self(format!("{}/", folder.trim_end_matches('/')))
    }

    pub(super) fn uri(&self) -> String {
        format!("file://{}", encoded(&self.0))
    }

    /// Where a file is; `None` for what is none, such as `<string>`.
    pub(super) fn location(&self, file: &str) -> Option<Value> {
        if file.is_empty() || file.starts_with('<') {
            return None;
        }
        let inside = file.strip_prefix(&self.0).or_else(|| (!file.starts_with('/')).then_some(file));
        Some(match inside {
            Some(inside) => json!({ "uri": encoded(inside), "uriBaseId": Self::ID }),
            None => json!({ "uri": format!("file://{}", encoded(file)) }),
        })
    }
}

/// All but letters, digits and what may occur in a path.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut uri, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            _ => write!(uri, "%{byte:02X}").expect("a string takes all"),
        }
        uri
    })
}

/// FNV-1a: short, and the same in every version.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_folder_have_relative_paths() {
        let root = Root::new("/home/user/my shop");
        assert_eq!(root.uri(), "file:///home/user/my%20shop/");
        let inside = json!({ "uri": "src/rows%23.py", "uriBaseId": "SRCROOT" });
        assert_eq!(root.location("/home/user/my shop/src/rows#.py"), Some(inside));
        assert_eq!(root.location("/usr/lib/x.py"), Some(json!({ "uri": "file:///usr/lib/x.py" })));
        assert_eq!(root.location("train.py"), Some(json!({ "uri": "train.py", "uriBaseId": "SRCROOT" })));
        assert_eq!(root.location("<string>"), None);
    }

    #[test]
    fn the_number_of_a_text_is_the_published_one() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
