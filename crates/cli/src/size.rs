//! Parses sizes: `4096`, `512KiB`, `1MiB`, `64k`.

use heaplens_format::Bytes;

/// Units by their first letter, optionally followed by `iB` or `B`; all are powers of two.
const UNITS: [(&str, u32); 4] = [("", 0), ("k", 10), ("m", 20), ("g", 30)];

/// Parses a size of at least one byte.
pub(crate) fn parse(text: &str) -> Result<Bytes, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| format!("'{text}' does not start with a number"))?;
    let shift = shift(unit).ok_or_else(|| format!("unknown unit '{unit}', use B, KiB, MiB or GiB"))?;
    match number.checked_mul(1 << shift) {
        Some(0) => Err("the size must be at least 1 byte".into()),
        Some(bytes) => Ok(Bytes::new(bytes)),
        None => Err(format!("'{text}' does not fit in 64 bits")),
    }
}

fn shift(unit: &str) -> Option<u32> {
    let unit = unit.trim_start().to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    UNITS.iter().find(|(name, _)| *name == letter).map(|(_, shift)| *shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_two() {
        for text in ["524288", "524288B", "512KiB", "512k", "512 KB"] {
            assert_eq!(parse(text), Ok(Bytes::new(512 << 10)), "{text}");
        }
        assert_eq!(parse("2MiB"), Ok(Bytes::new(2 << 20)));
        assert_eq!(parse("1g"), Ok(Bytes::new(1 << 30)));
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        for text in ["", "KiB", "-1", "1.5MiB", "5 parsecs", "0", "99999999999999999999", "17179869184GiB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
