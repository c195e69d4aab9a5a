//go:build !linux

package record

const canIdle = false

func idle() bool { return false }
