//! Shells and what they string together: many short processes, pipes, signals.

use super::trial::Trial;

#[test]
fn a_shell_with_pipes_subshells_and_traps_is_unharmed() {
    let name = "a_shell_with_pipes_subshells_and_traps_is_unharmed";
    let Some(trial) = Trial::of(name, &["sed", "sort", "diff"]) else { return };
    trial.unharmed_with_status(
        r#"
        trap 'echo "ends with $?"' EXIT
        trap 'echo asked' USR1
        rows() { for i in $(seq 1 40); do echo "$i $(echo "x$i" | sed s/x/y/)"; done; }
        rows | sort -r | (read -r first; echo "first $first"; wc -l)
        cat <<TEXT | tr a-z A-Z
        here: $(expr 3 + 4)
TEXT
        kill -USR1 $$
        diff <(seq 1 5) <(seq 2 6) || echo "differ $?"
        (exit 3) || echo "subshell $?"
        (set -o pipefail; yes | head -n 1000 | wc -l) || echo "pipe $?"
        { (kill -9 $BASHPID) || echo "killed $?"; } 2>/dev/null
        coproc cat
        echo there >&"${COPROC[1]}"; read -r back <&"${COPROC[0]}"; echo "$back and back"
        exec 9>ninth; echo kept >&9; exec 9>&-
        env -i sh -c 'echo "alone: $0"' zero
        (ulimit -n 30; bash -c 'echo few descriptors' | cat)
        exit 7
        "#,
        7,
    );
}

#[test]
fn a_pipeline_of_find_sort_and_xargs_is_unharmed() {
    let Some(trial) = Trial::of("a_pipeline_of_find_sort_and_xargs_is_unharmed", &["find", "xargs"]) else {
        return;
    };
    trial.unharmed(
        r"
        find /usr/include -type f -name '*.h' -print0 | sort -z | xargs -0 -n 300 -P 2 cat | wc -c
        find /usr/include -type f | sort | xargs -n 500 sha256sum > sums
        awk '{ n[substr($1, 1, 2)]++ } END { for (k in n) print k, n[k] }' sums | sort > counts
        ",
    );
}

#[test]
fn archives_packed_and_unpacked_are_unharmed() {
    let Some(trial) = Trial::of("archives_packed_and_unpacked_are_unharmed", &["tar", "gzip"]) else {
        return;
    };
    trial.unharmed(
        r"
        mkdir in out
        for i in $(seq 1 60); do seq 1 $((i * 400)) > in/$i; done
        tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - in | gzip -9n > in.tar.gz
        tar -C out -xzf in.tar.gz
        diff -r in out/in && echo same
        gzip -dc in.tar.gz | cksum
        ",
    );
}

#[test]
fn openssl_is_unharmed() {
    let Some(trial) = Trial::of("openssl_is_unharmed", &["openssl"]) else { return };
    trial.unharmed(
        r"
        seq 1 500000 > plain
        openssl dgst -sha512 plain
        openssl dgst -blake2b512 -hmac key plain
        openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k secret -in plain -out sealed
        openssl enc -d -aes-256-cbc -pbkdf2 -S 0011223344556677 -k secret -in sealed | cmp - plain && echo same
        openssl prime -generate -bits 64 >/dev/null && openssl prime 1000003
        ",
    );
}
