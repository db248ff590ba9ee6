//! What `--help` ends with: commands as people type them.

pub(crate) const HEAPLENS: &str = "\
Examples:
  heaplens run -- python train.py               record a program and say why its memory grows
  heaplens report heaplens.4711.hlr             the report again
  heaplens diff before.hlr after.hlr            what changed
  heaplens memcheck --leak-check=full ./app     which blocks were lost";

pub(crate) const RUN: &str = "\
Examples:
  heaplens run -- python train.py
  heaplens run -o run.hlr --json run.json -- ./server --port 8080
  heaplens run --html memory.html -- python train.py
  heaplens run --finalize-graph -- python train.py
  heaplens run --sample 512KiB -- ./allocates_a_lot
  heaplens run --max-growth 1KiB/iteration --error-exitcode 3 -- pytest tests/";

pub(crate) const MEMCHECK: &str = "\
Examples:
  heaplens memcheck ./app
  heaplens memcheck --leak-check=full --show-leak-kinds=all ./app
  heaplens memcheck --leak-check=full --error-exitcode=9 --suppressions=known.supp ./app
  heaplens memcheck --xml=yes --xml-file=lost.%p.xml ./app";

pub(crate) const REPORT: &str = "\
Examples:
  heaplens report heaplens.4711.hlr
  heaplens report run.hlr --format json -o run.json
  heaplens report run.hlr --html run.html
  heaplens report run.hlr --pid 4713
  heaplens report run.hlr --baseline known.json --error-exitcode 3";

pub(crate) const DIFF: &str = "\
Examples:
  heaplens diff before.hlr after.hlr
  heaplens diff run.hlr --from pass:100 --to pass:900
  heaplens diff run.hlr --from 'epoch 1' --to end --format json";

pub(crate) const SNAPSHOT: &str = "\
Examples:
  heaplens snapshot 4711
  heaplens snapshot 4711 --passive -o now.hlr";

pub(crate) const HEAP: &str = "\
Examples:
  heaplens heap run.hlr
  heaplens heap run.hlr --top 50
  heaplens heap run.hlr --address 0x7f3a10";

pub(crate) const DIAGNOSE: &str = "\
Examples:
  heaplens diagnose run.hlr
  heaplens diagnose run.hlr | gh issue create --title 'Memory grows' --body-file -";

pub(crate) const EXPORT: &str = "\
Examples:
  heaplens export run.hlr -f pprof -o run.pb.gz             go tool pprof -http=: run.pb.gz
  heaplens export run.hlr -f gperftools -o run.heap         google-pprof --text ./program run.heap
  heaplens export run.hlr -f collapsed --what growth | inferno-flamegraph > growth.svg
  heaplens export new.hlr --base old.hlr -f pprof -o diff.pb.gz
  heaplens export run.hlr -f sarif -o run.sarif";

pub(crate) const AGENT: &str = "\
Examples:
  heaplens agent
  heaplens agent --link libheaplens.so          LD_PRELOAD=$PWD/libheaplens.so HEAPPROFILE=/tmp/profile python script.py";

pub(crate) const MAN: &str = "\
Examples:
  heaplens man > heaplens.1
  heaplens man run | man -l -";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  heaplens completions bash > ~/.local/share/bash-completion/completions/heaplens
  heaplens completions zsh > ~/.zfunc/_heaplens
  heaplens completions fish > ~/.config/fish/completions/heaplens.fish";
