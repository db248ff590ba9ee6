//! What to do about blocks that nothing points to any more, by the code that allocated them.

use std::borrow::Cow;

use heaplens_format::recording::LeakKind;

use super::profile::Profile;
use crate::diagnose::Finding;
use crate::profile::{Leaks, StackFrame, own_line};

/// Functions of the C library whose result the caller releases, each with the function that does it.
const RELEASES: &[(&str, &str)] = &[
    ("asprintf", "free"),
    ("backtrace_symbols", "free"),
    ("dlopen", "dlclose"),
    ("duplocale", "freelocale"),
    ("fdopen", "fclose"),
    ("fdopendir", "closedir"),
    ("fmemopen", "fclose"),
    ("fopen", "fclose"),
    ("get_current_dir_name", "free"),
    ("getaddrinfo", "freeaddrinfo"),
    ("getdelim", "free"),
    ("getifaddrs", "freeifaddrs"),
    ("getline", "free"),
    ("glob", "globfree"),
    ("hcreate_r", "hdestroy_r"),
    ("iconv_open", "iconv_close"),
    ("if_nameindex", "if_freenameindex"),
    ("newlocale", "freelocale"),
    ("open_memstream", "fclose"),
    ("opendir", "closedir"),
    ("popen", "pclose"),
    ("realpath", "free"),
    ("regcomp", "regfree"),
    ("scandir", "free"),
    ("strdup", "free"),
    ("strndup", "free"),
    ("tmpfile", "fclose"),
    ("vasprintf", "free"),
    ("wordexp", "wordfree"),
];

/// What the C library puts before names of its functions for its own use.
const OWN_PREFIXES: [&str; 4] = ["__GI___", "__GI_", "__", "_IO_"];

/// What to do about the lost blocks of a finding.
pub(super) fn fix(profile: &Profile, finding: &Finding) -> Cow<'static, str> {
    let site = finding.representative.map(|site| &profile.sites[site]);
    let stack: Vec<&StackFrame> = site.into_iter().flat_map(|site| profile.stack(site)).collect();
    let own = own_line(stack.iter().copied());
    let inside = stack.iter().take_while(|frame| own.is_none_or(|own| !std::ptr::eq(**frame, own)));
    let mut names = inside.filter_map(|frame| frame.function.as_deref());
    if let Some((called, release)) = names.find_map(released) {
        return format!(
            "nothing points to it any more: release the result of {called}() with {release}() on every path"
        )
        .into();
    }
    let is_python = finding.line(profile).is_some_and(StackFrame::is_python);
    Cow::Borrowed(match language(&stack) {
        _ if is_python => {
            "nothing points to it any more: call the function of the native library that frees it; through ctypes, declare the result as \
             c_void_p, since c_char_p makes a copy and drops the pointer"
        }
        Language::Rust if has_lost(profile, is_reference_counted_in_rust, false) => {
            "nothing else points to it any more, so it is most likely a reference cycle: make one of the references weak \
             (Rc::downgrade, Arc::downgrade)"
        }
        Language::Rust => {
            "nothing points to it any more: take back what Box::into_raw, Box::leak or mem::forget gave up (Box::from_raw)"
        }
        Language::Cpp if has_lost(profile, is_shared_in_cpp, true) => {
            "nothing else points to it any more, so it is most likely a reference cycle: make one of the references a std::weak_ptr \
             (weak_from_this() in a callback)"
        }
        Language::Cpp => {
            "nothing points to it any more: delete it on every path, also where an exception is caught, or let a std::unique_ptr or a \
             std::vector own it"
        }
        Language::C => {
            "nothing points to it any more: free it on every path, before the last pointer to it is overwritten or goes out of scope"
        }
    })
}

/// The function that hands memory out, and the one that releases it, if a function is such a one.
fn released(function: &str) -> Option<(&'static str, &'static str)> {
    let function = function.split('@').next().unwrap_or(function);
    let plain = |prefix: &&str| function.strip_prefix(*prefix);
    let named = |name: &str| RELEASES.iter().find(|(called, _)| *called == name).copied();
    named(function).or_else(|| OWN_PREFIXES.iter().filter_map(plain).find_map(named))
}

/// What the code of a stack is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Cpp,
    Rust,
}

fn language(stack: &[&StackFrame]) -> Language {
    let any = |is: fn(&str) -> bool| stack.iter().filter_map(|frame| frame.function.as_deref()).any(is);
    // Namespaces of C++ may be called `alloc` and `core`, too.
    let of_rust = |name: &str| {
        ["<alloc::", "alloc::raw_vec::", "std::rt::", "__rust_"].iter().any(|start| name.starts_with(start))
    };
    if any(of_rust) {
        Language::Rust
    } else if any(|name| name.starts_with("operator new") || name.contains("::")) {
        Language::Cpp
    } else {
        Language::C
    }
}

/// Whether lost blocks were allocated by a function like this, only by themselves or also with those that led to them.
fn has_lost(profile: &Profile, by: fn(&str) -> bool, only_definitely: bool) -> bool {
    let Some(Leaks::Done(records)) = &profile.leaks else { return false };
    let is_lost = |kind: LeakKind| match kind {
        LeakKind::DefinitelyLost => true,
        LeakKind::IndirectlyLost => !only_definitely,
        _ => false,
    };
    let frames = records
        .iter()
        .filter(|record| is_lost(record.kind))
        .flat_map(|record| profile.stacks.frames(record.stack));
    frames.filter_map(|frame| frame.function.as_deref()).any(by)
}

fn is_shared_in_cpp(function: &str) -> bool {
    function.starts_with("std::__shared_count<") || function.starts_with("std::make_shared<")
}

fn is_reference_counted_in_rust(function: &str) -> bool {
    ["alloc::rc::", "<alloc::rc::", "alloc::sync::Arc", "<alloc::sync::Arc"]
        .iter()
        .any(|start| function.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Origin;

    #[test]
    fn functions_of_the_c_library_are_known_by_any_of_their_names() {
        for name in ["getaddrinfo", "__GI_getaddrinfo", "getaddrinfo@@GLIBC_2.2.5"] {
            assert_eq!(released(name), Some(("getaddrinfo", "freeaddrinfo")), "{name}");
        }
        assert_eq!(released("__GI___regcomp"), Some(("regcomp", "regfree")));
        assert_eq!((released("my_getaddrinfo"), released("malloc")), (None, None));
    }

    #[test]
    fn the_language_is_that_of_the_names() {
        let of = |names: &[&str]| {
            let frame = |name: &&str| StackFrame {
                origin: Origin::Native,
                function: Some((*name).into()),
                file: None,
                line: None,
                module: None,
                offset: 0,
            };
            let frames: Vec<StackFrame> = names.iter().map(frame).collect();
            language(&frames.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&["malloc", "read_line", "main"]), Language::C);
        assert_eq!(of(&["operator new", "Node::Node", "main"]), Language::Cpp);
        assert_eq!(of(&["operator new", "main"]), Language::Cpp);
        assert_eq!(of(&["operator new", "core::Pool::grow", "main"]), Language::Cpp);
        assert_eq!(of(&["<alloc::raw_vec::RawVecInner>::try_allocate_in", "dom::main"]), Language::Rust);
    }
}
