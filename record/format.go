package record

// The figures of the format (FORMAT.md), in bytes unless said otherwise.
const (
	// FormatMajor and FormatMinor are the version that is written. Readers
	// accept any minor of the same major.
	FormatMajor = 1
	// A recording says the lowest version that has all that is in it.
	FormatMinor     = 0
	FormatMinorHTTP = 1 // with records of HTTP

	maxLine    = 8 << 20  // an encoded line without LF
	maxHeader  = 64 << 10 // the header line with LF
	maxBatch   = 16 << 20 // lines between two checks
	frameLines = 4 << 20  // a zstd frame is closed after that many bytes of lines
	partLimit  = 4 << 20  // a stdio line longer than that becomes parts
	maxDepth   = 200      // of a message that is embedded
	maxNumber  = 1000     // a number token of a message that is embedded
	windowSize = 1 << 20  // of a writer's encoder
	maxWindow  = 8 << 20  // that a reader accepts

	// DefaultMaxDecompressed bounds what a reader unpacks of one recording.
	DefaultMaxDecompressed = 16 << 30
)

// Suffix ends the name of every recording.
const Suffix = ".mcp.jsonl.zst"
