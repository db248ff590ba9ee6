//! Whose code a file is: loops count as iterations when they are the user's own.

/// Folders into which packages are installed.
const INSTALLED: [&[u8]; 2] = [b"site-packages", b"dist-packages"];
/// What code without a file is called that the user typed, or gave to `python -c`.
const TYPED: [&[u8]; 4] = [b"<stdin>", b"<string>", b"<ipython-input", b"<python-input"];
/// What TensorFlow calls the files that it makes of the user's functions: their loops are not what runs.
const REWRITTEN: &[u8] = b"__autograph_generated_file";

/// Whether a file is neither an installed package's nor the standard library's.
pub fn is_users(file: &[u8]) -> bool {
    if file.is_empty() || file[0] == b'<' {
        return TYPED.iter().any(|name| file.starts_with(name));
    }
    let mut before: &[u8] = b"";
    for part in file.split(|&byte| byte == b'/') {
        if INSTALLED.contains(&part) || before.starts_with(b"lib") && is_version(part) {
            return false;
        }
        before = part;
    }
    !before.starts_with(REWRITTEN)
}

/// `python3.11`, as in `/usr/lib/python3.11/json/decoder.py`.
fn is_version(part: &[u8]) -> bool {
    part.strip_prefix(b"python").is_some_and(|version| version.first().is_some_and(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_whose_code_it_is() {
        let own = ["train.py", "/home/user/lib/rows.py", "<stdin>", "<string>", "/tmp/ipykernel_77/123.py"];
        let others = [
            "",
            "<frozen importlib._bootstrap>",
            "<__array_function__ internals>",
            "/usr/lib/python3.11/json/decoder.py",
            "/opt/venv/lib64/python3.12/site-packages/numpy/_core/numeric.py",
            "/usr/lib/python3/dist-packages/six.py",
            "/tmp/__autograph_generated_file4x.py",
        ];
        assert!(own.iter().all(|file| is_users(file.as_bytes())));
        assert!(!others.iter().any(|file| is_users(file.as_bytes())));
    }
}
