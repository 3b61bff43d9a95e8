"""The evaluation: `ltst eval` measures recall on public benchmarks, through the library as anyone would use it."""
