package record

import "time"

// WithWall is cfg with a wall clock of the test's, for the tests beside the package:
// those can use proxytest.
func WithWall(cfg Config, wall func() time.Time) Config {
	cfg.wall = wall
	return cfg
}
