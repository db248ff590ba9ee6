//! Looks up an exported symbol of a loaded object in its own tables, without the loader: `dlsym` takes locks and may
//! allocate, and a library that was loaded for itself alone is out of its sight.

use core::ffi::CStr;

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

/// The symbol tables of a loaded object.
#[derive(Clone, Copy, Debug)]
pub struct Exports {
    bias: u64,
    strings: u64,
    symbols: u64,
    hash: u64,
}

impl Exports {
    /// Reads where the tables are; `None` when the object exports nothing by a GNU hash table.
    ///
    /// # Safety
    /// `dynamic` must be the dynamic section of an object that stays loaded while the result is used.
    pub unsafe fn of(bias: u64, dynamic: u64) -> Option<Self> {
        let mut found = Self { bias, strings: 0, symbols: 0, hash: 0 };
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
                DT_GNU_HASH => found.hash = address,
                _ => {}
            }
            // SAFETY: not the last entry.
            entry = unsafe { entry.add(1) };
        }
        (found.strings != 0 && found.symbols != 0 && found.hash != 0).then_some(found)
    }

    /// The definition of a name.
    pub fn find(&self, name: &CStr) -> Option<Symbol> {
        let wanted = gnu_hash(name.to_bytes());
        let word = |index: u64| -> u32 {
            // SAFETY: an index within the hash table, as its own header and chains say.
            unsafe { ((self.hash + index * 4) as *const u32).read() }
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

#[cfg(test)]
mod tests {
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
}
