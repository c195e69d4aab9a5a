package session

import (
	"path"
	"strings"
)

// launchers are the programs that fetch or start another one, so that their
// exit says nothing about the server (grading.md 0.1 "Connection").
var launchers = map[string]bool{
	"npx": true, "npm": true, "pnpm": true, "pnpx": true, "yarn": true, "bunx": true, "corepack": true,
	"uvx": true, "uv": true, "pipx": true, "poetry": true, "pdm": true, "hatch": true, "rye": true, "pixi": true, "conda": true,
	"docker": true, "podman": true, "nerdctl": true, "kubectl": true, "ssh": true, "wsl": true,
	"sh": true, "bash": true, "zsh": true, "dash": true, "ash": true, "ksh": true, "mksh": true, "fish": true, "csh": true, "tcsh": true,
	"busybox": true, "cmd": true, "powershell": true, "pwsh": true,
	"env": true, "sudo": true, "doas": true, "nohup": true, "nice": true, "timeout": true, "setsid": true, "stdbuf": true, "xargs": true,
	"mise": true, "asdf": true, "nix": true, "nix-shell": true, "direnv": true, "dotenv": true, "dotenvx": true, "doppler": true, "op": true,
}

// IsLauncher tells whether the command is one that starts another program.
func IsLauncher(command []string) bool {
	if len(command) == 0 {
		return false
	}
	name := strings.ToLower(path.Base(strings.ReplaceAll(command[0], `\`, "/")))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	if launchers[name] {
		return true
	}
	// bun and deno are runtimes, like node, unless they fetch a package.
	if len(command) > 1 && name == "bun" {
		return command[1] == "x"
	}
	return false
}
