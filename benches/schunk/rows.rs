//! What is measured: operations on super-chunks, in each storage.

/// The storage of the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Memory,
    Buffer,
    File,
    Directory,
}

impl Storage {
    pub const ALL: [Storage; 4] = [
        Storage::Memory,
        Storage::Buffer,
        Storage::File,
        Storage::Directory,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Storage::Memory => "chunks in memory",
            Storage::Buffer => "frame in memory",
            Storage::File => "file",
            Storage::Directory => "directory",
        }
    }

    pub fn contiguous(self) -> bool {
        matches!(self, Storage::Buffer | Storage::File)
    }

    pub fn on_disk(self) -> bool {
        matches!(self, Storage::File | Storage::Directory)
    }
}

/// The operation that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// This number of appends to an empty super-chunk.
    Append,
    /// 1,000 items into one chunk, at 20 places.
    WriteSlices,
    /// Opens the frame, and reads one chunk.
    Open,
    /// Every chunk, one after the other.
    Scan,
    /// All data in one call.
    ScanSlice,
    /// 200 random slices of 1 to 10,000 items.
    Slices,
    /// 2,000 random items in one call.
    Sparse,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Operation::Append => "append",
            Operation::WriteSlices => "write 20 slices",
            Operation::Open => "open and read one chunk",
            Operation::Scan => "scan chunk by chunk",
            Operation::ScanSlice => "read all in one slice",
            Operation::Slices => "200 slices",
            Operation::Sparse => "2,000 sparse items",
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub operation: Operation,
    pub storage: Storage,
    pub chunks: usize,
    pub chunksize: usize,
    pub blocksize: i32,
    pub threads: i16,
}

impl Row {
    /// The description of the row.
    pub fn describe(&self) -> String {
        format!(
            "{}, {}, {} chunks of {} bytes, {} threads",
            self.operation.name(),
            self.storage.name(),
            self.chunks,
            self.chunksize,
            self.threads
        )
    }

    /// The group that it counts for, and the geometric mean that is its goal.
    pub fn group(&self) -> (String, f64) {
        let goal = match (self.operation, self.storage, self.chunks) {
            // The reference has no index there, so it cannot be much slower.
            (Operation::Append, Storage::Memory, _) => 0.95,
            (Operation::Append, Storage::Buffer, _) => 20.0,
            (Operation::Append, Storage::File, 20_000..) => 15.0,
            (Operation::Append, Storage::File, _) => 20.0,
            (Operation::Append, Storage::Directory, _) => 10.0,
            (Operation::WriteSlices, _, 2000..) => 1.0,
            (Operation::WriteSlices, ..) => 5.0,
            _ => 1.5,
        };
        let name = match self.operation {
            Operation::Append => format!("{} appends, {}", self.chunks, self.storage.name()),
            Operation::WriteSlices => format!("slices written, {} chunks", self.chunks),
            _ => format!("reading, {}", self.storage.name()),
        };
        (name, goal)
    }
}

/// Every row of a run.
pub fn rows(quick: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for storage in Storage::ALL {
        let row = |operation, chunks, chunksize, blocksize, threads| Row {
            operation,
            storage,
            chunks,
            chunksize,
            blocksize,
            threads,
        };
        rows.push(row(Operation::Append, 2000, 8 << 10, 0, 1));
        if !quick {
            rows.push(row(Operation::Append, 20_000, 8 << 10, 0, 1));
        }
        rows.push(row(Operation::WriteSlices, 8, 1 << 20, 32 << 10, 1));
        rows.push(row(Operation::WriteSlices, 2000, 8 << 10, 4 << 10, 1));
        let threads: &[i16] = if quick { &[1] } else { &[1, 2] };
        for &threads in threads {
            for (chunks, chunksize, blocksize) in
                [(2000, 8 << 10, 4 << 10), (32, 1 << 20, 32 << 10)]
            {
                let mut reads = vec![
                    Operation::Scan,
                    Operation::ScanSlice,
                    Operation::Slices,
                    Operation::Sparse,
                ];
                if storage != Storage::Memory {
                    reads.push(Operation::Open);
                }
                rows.extend(
                    reads
                        .into_iter()
                        .map(|read| row(read, chunks, chunksize, blocksize, threads)),
                );
            }
        }
    }
    rows
}
