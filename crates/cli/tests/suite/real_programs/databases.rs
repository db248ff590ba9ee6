//! Programs that keep data: sqlite3, git, PostgreSQL.

use super::trial::Trial;
use super::{amount, found, said};
use crate::harness::{is_root, skip};

/// A row takes about 145 bytes with its index entry: 300,000 of them are 44 MB before the vacuum.
#[test]
fn sqlite_building_and_vacuuming_a_database_is_unharmed() {
    let Some(trial) = Trial::of("sqlite_building_and_vacuuming_a_database_is_unharmed", &["sqlite3"]) else {
        return;
    };
    let rows = amount("HEAPLENS_SQLITE_ROWS", 300_000);
    trial.with("ROWS", rows).unharmed(
        r#"
        sqlite3 data.db "
            create table t(a integer primary key, b text, c blob);
            with recursive n(i) as (select 1 union all select i + 1 from n where i < $ROWS)
                insert into t select i, printf('row %d %s', i, hex(i * 7919)), zeroblob(60) from n;
            create index by_b on t(b);
            delete from t where a % 3 = 0;
            vacuum;
            pragma integrity_check;
            select count(*), sum(length(b)), max(b) from t;"
        "#,
    );
}

const GIT: &str = r#"
    export GIT_AUTHOR_DATE="2020-01-01T00:00:00Z" GIT_COMMITTER_DATE="2020-01-01T00:00:00Z"
    export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
    git init -q -b main --bare repository
    cd repository
    git config pack.threads 1    # with more, which thread finds which delta decides the bytes of the pack
    awk -v commits="$COMMITS" '
        function blob(n,   i) {
            printf "blob\nmark :%d\ndata <<END\nblob %d\n", n, n
            for (i = 0; i < 40; i++) printf "%d %d\n", i, (n * i) % 97
            print "END"
        }
        function commit(c,   i) {
            printf "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\n", 1500000000 + c
            printf "data <<END\ncommit %d\nEND\n", c
            for (i = 1; i <= 50; i++) printf "M 100644 :%d d%d/f%d\n", (c - 1) * 50 + i, i % 7, i
            print ""
        }
        BEGIN {
            for (n = 1; n <= commits * 50; n++) blob(n)
            for (c = 1; c <= commits; c++) commit(c)
        }' | git -c fastimport.unpackLimit=1000000000 fast-import --quiet
    git gc --quiet --prune=now
    git fsck --full
    git count-objects -v
    git rev-list --count --objects HEAD
    git log --format='%H %s' | cksum
"#;

#[test]
fn git_collecting_a_repository_is_unharmed() {
    let Some(trial) = Trial::of("git_collecting_a_repository_is_unharmed", &["git", "awk"]) else { return };
    trial.with("COMMITS", amount("HEAPLENS_GIT_COMMITS", 60)).unharmed(GIT);
}

/// What pgbench counts depends on the clock; that no transaction failed and that the books agree does not.
const POSTGRES: &str = r#"
    export PGDATA="$TMPDIR/data" PGHOST="$TMPDIR" PGUSER=tester
    rm -rf "$PGDATA"
    "$BIN/initdb" -U tester --auth=trust --no-sync >/dev/null
    "$BIN/pg_ctl" -w -t 120 -l log.tmp -o "-c listen_addresses='' -c unix_socket_directories='$TMPDIR' -c fsync=off" start >/dev/null
    trap '"$BIN/pg_ctl" -m fast -w stop >/dev/null; rm -rf "$PGDATA" log.tmp' EXIT
    "$BIN/createdb" bench
    "$BIN/pgbench" -q -i -s 2 bench 2>/dev/null
    "$BIN/pgbench" -c 4 -j 2 -T "$SECONDS_OF_LOAD" bench 2>/dev/null | grep -E 'failed|clients|threads:'
    "$BIN/psql" -At bench -c "
        select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history),
               (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from pgbench_branches),
               (select count(*) > 0 from pgbench_history);
        select count(*), sum(length(repeat(md5(i::text), 20))) from generate_series(1, 20000) i;"
    grep -E 'PANIC|FATAL|terminated by signal|crash' log.tmp || echo "nothing ended badly"
"#;

#[test]
#[ignore = "long: cargo xtask test --all"]
fn postgres_under_pgbench_is_unharmed() {
    let name = "postgres_under_pgbench_is_unharmed";
    let test = format!("real_programs::{name}");
    let Some(bin) = postgres_programs() else { return skip(&test, "PostgreSQL is not installed") };
    let Some(trial) = Trial::of(name, &["setpriv", "timeout"]) else { return };
    let trial = if is_root() { trial.unprivileged() } else { trial };
    trial.with("BIN", bin).with("SECONDS_OF_LOAD", amount("HEAPLENS_PGBENCH_SECONDS", 3)).unharmed(POSTGRES);
}

/// Debian keeps the server's programs out of the path.
fn postgres_programs() -> Option<String> {
    let link = found("postgres").and_then(|path| path.canonicalize().ok());
    let own = link.and_then(|path| Some(path.parent()?.display().to_string()));
    let debian =
        || said(std::process::Command::new("sh").args(["-c", "ls -d /usr/lib/postgresql/*/bin | tail -n 1"]));
    own.or_else(debian).filter(|folder| std::path::Path::new(folder).join("initdb").exists())
}
