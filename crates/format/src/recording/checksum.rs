//! CRC-32C (Castagnoli, RFC 3720 appendix B.4), one table look-up per byte. It detects damage; it is no
//! protection against a forger.

/// The reflected polynomial.
const POLYNOMIAL: u32 = 0x82f6_3b78;

static TABLE: [u32; 256] = table();

/// The checksum of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = remainder(index as u32);
        index += 1;
    }
    table
}

const fn remainder(byte: u32) -> u32 {
    let mut crc = byte;
    let mut bit = 0;
    while bit < 8 {
        crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
        bit += 1;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_are_those_of_the_rfc() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn the_checksum_of_nothing_is_zero() {
        assert_eq!(crc32c(b""), 0);
    }
}
