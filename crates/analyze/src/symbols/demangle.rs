//! Mangled names made readable: C++ without parameters and return types (the line distinguishes overloads, and the
//! report is read by people), Rust without the hash.

use cpp_demangle::{DemangleOptions, Symbol};

/// The readable name, or the name itself where it is not mangled.
pub(crate) fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    cpp(name).unwrap_or_else(|| name.to_owned())
}

/// The readable name of a class, from the name in its `std::type_info`; `None` where it is not one.
pub(crate) fn demangle_class(name: &str) -> Option<String> {
    // A name that is compared by its address begins with a star.
    let name = name.trim_start_matches('*');
    let symbol = Symbol::new(format!("_ZTS{name}")).ok()?;
    let readable = symbol.demangle().ok()?;
    readable.strip_prefix("typeinfo name for ").map(str::to_owned)
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(name).ok()?.demangle_with_options(&options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpp_name_loses_its_parameters() {
        assert_eq!(demangle("_ZN4Rows4fillEm"), "Rows::fill");
        assert_eq!(demangle("_Znwm"), "operator new");
    }

    #[test]
    fn a_rust_name_loses_its_hash() {
        assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
    }

    #[test]
    fn the_name_of_a_class_keeps_its_parameters() {
        assert_eq!(demangle_class("N4shop4BookE").as_deref(), Some("shop::Book"));
        assert_eq!(demangle_class("*N4shop3BoxIiEE").as_deref(), Some("shop::Box<int>"));
        assert_eq!(demangle_class("nonsense"), None);
    }

    #[test]
    fn a_plain_name_stays_as_it_is() {
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("_Znonsense"), "_Znonsense");
    }
}
