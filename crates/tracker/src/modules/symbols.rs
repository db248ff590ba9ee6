//! Looks up an exported symbol of a loaded object in its own tables, without the loader: `dlsym` takes locks and may
//! allocate, and a library that was loaded for itself alone is out of its sight.

use core::ffi::CStr;

const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// An exported symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Where it is in the process.
    pub address: u64,
    /// Its size.
    pub size: u64,
}

/// The symbol tables of a loaded object. One of the two hash tables may be missing (its address is 0): linkers write the GNU one
/// by default, `--hash-style=sysv` the other one alone.
#[derive(Clone, Copy, Debug)]
pub struct Exports {
    bias: u64,
    strings: u64,
    symbols: u64,
    gnu_hash: u64,
    sysv_hash: u64,
}

impl Exports {
    /// Reads where the tables are; `None` when the object has no hash table: the loader finds nothing in it either.
    ///
    /// # Safety
    /// `dynamic` must be the dynamic section of an object that stays loaded while the result is used.
    pub unsafe fn of(bias: u64, dynamic: u64) -> Option<Self> {
        let mut found = Self { bias, strings: 0, symbols: 0, gnu_hash: 0, sysv_hash: 0 };
        let mut entry = dynamic as *const [u64; 2];
        if entry.is_null() {
            return None;
        }
        loop {
            // SAFETY: the section ends with an entry of tag 0.
            let [tag, value] = unsafe { entry.read() };
            // The loader relocates the addresses in the section itself, except where it is read-only.
            let address = if value < bias { value.wrapping_add(bias) } else { value };
            match tag {
                0 => break,
                DT_STRTAB => found.strings = address,
                DT_SYMTAB => found.symbols = address,
                DT_GNU_HASH => found.gnu_hash = address,
                DT_HASH => found.sysv_hash = address,
                _ => {}
            }
            // SAFETY: not the last entry.
            entry = unsafe { entry.add(1) };
        }
        let has_hash = found.gnu_hash != 0 || found.sysv_hash != 0;
        (found.strings != 0 && found.symbols != 0 && has_hash).then_some(found)
    }

    /// The definition of a name.
    pub fn find(&self, name: &CStr) -> Option<Symbol> {
        if self.gnu_hash != 0 { self.find_by_gnu_hash(name) } else { self.find_by_sysv_hash(name) }
    }

    fn find_by_gnu_hash(&self, name: &CStr) -> Option<Symbol> {
        let wanted = gnu_hash(name.to_bytes());
        let word = |index: u64| -> u32 {
            // SAFETY: an index within the hash table, as its own header and chains say.
            unsafe { ((self.gnu_hash + index * 4) as *const u32).read() }
        };
        let (buckets, first, filter) = (word(0), word(1), word(2));
        if buckets == 0 {
            return None;
        }
        let (bucket_table, chains) =
            (4 + u64::from(filter) * 2, 4 + u64::from(filter) * 2 + u64::from(buckets));
        let mut number = word(bucket_table + u64::from(wanted % buckets));
        if number < first {
            return None;
        }
        loop {
            let hash = word(chains + u64::from(number - first));
            if hash | 1 == wanted | 1
                && let Some(symbol) = self.symbol(number, name)
            {
                return Some(symbol);
            }
            if hash & 1 != 0 {
                return None; // the end of the chain
            }
            number += 1;
        }
    }

    /// ```text
    ///   buckets │ chains │ first symbol of each bucket … │ next symbol of each symbol …      (System V gABI, "Hash Table")
    /// ```
    fn find_by_sysv_hash(&self, name: &CStr) -> Option<Symbol> {
        let word = |index: u64| -> u32 {
            // SAFETY: an index within the hash table, as its own header and chains say.
            unsafe { ((self.sysv_hash + index * 4) as *const u32).read() }
        };
        let (buckets, chains) = (word(0), word(1));
        if buckets == 0 {
            return None;
        }
        let mut number = word(2 + u64::from(sysv_hash(name.to_bytes()) % buckets));
        for _ in 0..chains {
            if number == 0 {
                return None; // the end of the chain
            }
            if let Some(symbol) = self.symbol(number, name) {
                return Some(symbol);
            }
            number = word(2 + u64::from(buckets) + u64::from(number));
        }
        None
    }

    fn symbol(&self, number: u32, name: &CStr) -> Option<Symbol> {
        // SAFETY: the hash table numbers entries of the symbol table.
        let entry = unsafe { &*(self.symbols as *const libc::Elf64_Sym).add(number as usize) };
        // SAFETY: names lie in the string table and end with a zero.
        let found = unsafe { CStr::from_ptr((self.strings + u64::from(entry.st_name)) as *const _) };
        (found == name && entry.st_shndx != 0)
            .then(|| Symbol { address: self.bias.wrapping_add(entry.st_value), size: entry.st_size })
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| {
        let sum = (hash << 4).wrapping_add(u32::from(byte));
        let top = sum & 0xf000_0000;
        (sum ^ (top >> 24)) & !top
    })
}

#[cfg(test)]
mod tests {
    use core::ffi::CStr;

    use super::{Exports, sysv_hash};
    use crate::modules;

    #[test]
    fn a_function_of_libc_is_where_the_loader_says() {
        let exports = modules::exports_of(libc::qsort as *const () as u64).unwrap();
        for name in [c"qsort", c"strlen", c"getpid", c"environ"] {
            // SAFETY: a zero-terminated name.
            let truth = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
            let found = exports.find(name).unwrap();
            // Functions that choose their variant at run time are found as what chooses.
            assert!(found.address == truth || name == c"strlen", "{name:?}");
        }
        assert_eq!(exports.find(c"no_such_function_of_libc"), None);
        assert_eq!(modules::defined_elsewhere(c"qsort"), Some(libc::qsort as *const () as u64));
        assert_eq!(modules::defined_elsewhere(c"no_such_function_of_libc"), None);
    }

    /// Two buckets for the symbols 1 to 3, as a linker would write them.
    #[test]
    fn an_object_with_a_sysv_hash_table_alone_is_searched() {
        let strings = *b"\0first\0second\0third\0";
        let entry = |name: u32, section: u16, value: u64| libc::Elf64_Sym {
            st_name: name,
            st_info: 0x12,
            st_other: 0,
            st_shndx: section,
            st_value: value,
            st_size: 8,
        };
        let symbols = [entry(0, 0, 0), entry(1, 5, 0x10), entry(7, 5, 0x20), entry(14, 0, 0)];
        let mut table = [2u32, 4, 0, 0, 0, 0, 0, 0];
        for (number, name) in [(1, &b"first"[..]), (2, b"second"), (3, b"third")] {
            let bucket = 2 + (sysv_hash(name) % 2) as usize;
            table[4 + number] = table[bucket];
            table[bucket] = number as u32;
        }
        let (strings, symbols) = (strings.as_ptr() as u64, symbols.as_ptr() as u64);
        let sysv_hash = table.as_ptr() as u64;
        let exports = Exports { bias: 0x1000, strings, symbols, gnu_hash: 0, sysv_hash };
        let address = |name: &CStr| exports.find(name).map(|symbol| symbol.address);
        assert_eq!((address(c"first"), address(c"second")), (Some(0x1010), Some(0x1020)));
        assert_eq!(address(c"third"), None, "it is only referred to");
        assert_eq!(address(c"fourth"), None);
    }

    #[test]
    fn the_sysv_hash_is_that_of_the_gabi() {
        let hashes = [&b""[..], b"printf", b"exit", b"syscall"].map(sysv_hash);
        assert_eq!(hashes, [0, 0x077905a6, 0x0006cf04, 0x0b09985c]);
    }
}
