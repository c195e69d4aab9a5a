package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
)

// limitFlags are the flags of record that bound what it leaves on the disk.
type limitFlags struct {
	rotateSize, maxTotal, maxMessage string
	rotateEvery, maxAge              string
}

func (l *limitFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&l.rotateSize, "rotate-size", "", "begin another file, NAME.0001"+record.Suffix+" and so on, when one has this `SIZE` (packed); at most a quarter of --max-recording and --max-total")
	fs.StringVar(&l.rotateEvery, "rotate-every", "", "begin another file after this `TIME`, as in 1h; not where nothing passes")
	fs.StringVar(&l.maxTotal, "max-total", "", "remove the oldest closed files of recordings in the folder when all have over `SIZE`; none of a recording that another recorder writes; rotates")
	fs.StringVar(&l.maxAge, "max-age", "", "remove closed files of recordings in the folder that were written `TIME` ago, as in 36h or 30d; rotates")
	fs.StringVar(&l.maxMessage, "max-message", "", "cut messages of over this `SIZE` in the recording, with their length and hash; the traffic is whole")
}

// apply checks the flags and puts them into cfg, whose Max and Name are set.
func (l *limitFlags) apply(cfg *record.Config) (err error) {
	size := func(flag, value string, least int64, into *int64) {
		if err != nil || value == "" {
			return
		}
		if *into, err = byteSize(flag, value, least); err != nil {
			return
		}
	}
	size("--rotate-size", l.rotateSize, record.MinRotateSize, &cfg.RotateSize)
	size("--max-total", l.maxTotal, 8*record.MinRotateSize, &cfg.MaxTotal)
	size("--max-message", l.maxMessage, record.MinMaxMessage, &cfg.MaxMessage)
	if err == nil && l.rotateEvery != "" {
		cfg.RotateEvery, err = span("--rotate-every", l.rotateEvery, time.Second)
	}
	if err == nil && l.maxAge != "" {
		cfg.MaxAge, err = span("--max-age", l.maxAge, time.Second)
	}
	switch {
	case err != nil:
		return err
	case cfg.RotateSize > cfg.Max/4:
		return fmt.Errorf("--rotate-size %s is over a quarter of the recording's cap of %d bytes (--max-recording)", l.rotateSize, cfg.Max)
	case cfg.MaxTotal > 0 && cfg.RotateSize > cfg.MaxTotal/4:
		return fmt.Errorf("--rotate-size %s is over a quarter of --max-total %s: too little could ever go", l.rotateSize, l.maxTotal)
	case cfg.Rotates() && record.Numbered(cfg.Name):
		return fmt.Errorf("--out %s has a number before its suffix, as the later files of a recording have: choose another name to rotate", cfg.Name)
	}
	return nil
}

// byteSize reads a size such as 64MiB.
func byteSize(flag, value string, least int64) (int64, error) {
	n, err := units.RAMInBytes(value)
	if err != nil || n < least {
		return 0, fmt.Errorf("%s %q is no size of at least %s, such as 64MiB", flag, value, units.CustomSize("%.4g%s", float64(least), 1024, []string{"B", "KiB", "MiB"}))
	}
	return n, nil
}

// span reads a time such as 36h, 90m or 30d: days are for ages, which have many hours.
func span(flag, value string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n int64
		if n, err = strconv.ParseInt(days, 10, 64); err == nil && n < 100_000 {
			d = time.Duration(n) * 24 * time.Hour
		} else if err == nil {
			err = strconv.ErrRange
		}
	}
	if err != nil || d < least {
		return 0, fmt.Errorf("%s %q is no time of at least %v, such as 90m, 36h or 30d", flag, value, least)
	}
	return d, nil
}
