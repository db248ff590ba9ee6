//! Which interior pointers are as good as pointers to the start, by the names that Memcheck has for them.

/// Names in the order in which Memcheck lists them.
const NAMES: [&str; 4] = ["stdstring", "length64", "newarray", "multipleinheritance"];

/// Which interior pointers count as pointers to the start of their block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heuristics {
    /// After length, capacity and count of references: strings of the old ABI.
    pub std_string: bool,
    /// After a length in bytes.
    pub length: bool,
    /// After the number of elements that `new[]` puts before them.
    pub new_array: bool,
    /// To a base class other than the first.
    pub multiple_inheritance: bool,
}

impl Heuristics {
    /// All of them.
    pub const ALL: Self =
        Self { std_string: true, length: true, new_array: true, multiple_inheritance: true };
    /// None: only pointers to the start count.
    pub const NONE: Self =
        Self { std_string: false, length: false, new_array: false, multiple_inheritance: false };

    /// A list of names, or `all`, or `none`.
    pub fn parse(list: &str) -> Option<Self> {
        match list {
            "all" => return Some(Self::ALL),
            "none" => return Some(Self::NONE),
            _ => {}
        }
        let mut found = Self::NONE;
        for name in list.split(',') {
            *found.by_name(name)? = true;
        }
        Some(found)
    }

    fn by_name(&mut self, name: &str) -> Option<&mut bool> {
        let at = NAMES.iter().position(|known| *known == name)?;
        let Self { std_string, length, new_array, multiple_inheritance } = self;
        [std_string, length, new_array, multiple_inheritance].into_iter().nth(at)
    }
}

impl Default for Heuristics {
    fn default() -> Self {
        Self::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_spelled_as_memcheck_spells_them() {
        assert_eq!(Heuristics::parse("all"), Some(Heuristics::ALL));
        assert_eq!(Heuristics::parse("none"), Some(Heuristics::NONE));
        assert_eq!(
            Heuristics::parse("stdstring,length64,newarray,multipleinheritance"),
            Some(Heuristics::ALL)
        );
        let one = Heuristics { new_array: true, ..Heuristics::NONE };
        assert_eq!(Heuristics::parse("newarray"), Some(one));
        assert_eq!([Heuristics::parse(""), Heuristics::parse("newarray,x")], [None, None]);
    }
}
