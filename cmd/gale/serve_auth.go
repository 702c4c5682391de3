package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"flag"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/shares"
)

// authEnv is the environment variable that does what -auth does. A list of processes
// shows flags to other users, but not the environment.
const authEnv = "GALE_AUTH"

// authConfig says who may read. The zero value means everyone.
type authConfig struct {
	pair authFlag
	file string        // of -auth-file
	by   authenticator // made by load; nil means everyone
}

func (a *authConfig) enabled() bool { return a.pair.set || a.file != "" }

// authFlags are about names and passwords.
func (cfg *serveConfig) authFlags(fs *flag.FlagSet) {
	fs.Var(&cfg.auth.pair, "auth", "require a user name and password, given as `user:pass` (HTTP Basic; use it with TLS); the environment variable GALE_AUTH does the same and isn't shown in lists of processes")
	fs.StringVar(&cfg.auth.file, "auth-file", "", "require a name and password of this `file`, with lines as 'htpasswd -B' makes them; changes are noticed")
}

// check reads the environment and finds settings that contradict each other.
func (a *authConfig) check() error {
	env, found := os.LookupEnv(authEnv)
	switch {
	case found && a.pair.set:
		return usagef("both -auth and the environment variable %s are set: remove one of them", authEnv)
	case found:
		_ = a.pair.Set(env)
		_ = os.Unsetenv(authEnv) // programs that are started need not know it
		if !a.pair.valid() {
			return usagef("write the environment variable %s as user:pass; neither may be empty, and no control characters or bytes that aren't UTF-8", authEnv)
		}
	case a.pair.set && !a.pair.valid():
		return usagef("write -auth as user:pass; neither may be empty, and no control characters or bytes that aren't UTF-8")
	}
	if a.pair.set && a.file != "" {
		return usagef("use either -auth-file or a single name and password (-auth, %s)", authEnv)
	}
	return nil
}

// authFlag is a name and password. Set accepts any value, because package flag
// would print a value that it refuses, and this one is a secret. authConfig.check
// validates it.
type authFlag struct {
	user, pass string
	set        bool
}

func (f *authFlag) String() string { return "" }

func (f *authFlag) Set(s string) error {
	f.user, f.pass, _ = strings.Cut(s, ":")
	f.set = true
	return nil
}

func (f *authFlag) valid() bool {
	return f.user != "" && f.pass != "" && isText(f.user) && isText(f.pass)
}

// isText reports whether s can be a name or password: UTF-8 without control characters
// (RFC 7617 section 2).
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// authAnswer is the result of looking at a name and password.
type authAnswer uint8

const (
	authWrong   authAnswer = iota
	authRight              // the name and the password belong together
	authTooLong            // no password of a file can be that long
	authEnough             // the client has too many checks waiting
	authBusy               // all clients together have
)

// authenticator decides on names and passwords.
type authenticator interface {
	answer(ctx *gale.RequestCtx, user, pass string) authAnswer
}

// load makes the authenticator. It reads the file.
func (a *authConfig) load(logger *slog.Logger) error {
	switch {
	case a.pair.set:
		a.by = newPairAuth(a.pair.user, a.pair.pass)
	case a.file != "":
		file, err := openPasswords(a.file, time.Now(), logger)
		if err != nil {
			return err
		}
		a.by = &fileAuth{file: file, checks: newPasswordChecks()}
	}
	return nil
}

// pairAuth accepts one name and password. It keeps hashes of equal length, so that the
// time of a comparison tells nothing about them.
type pairAuth [sha256.Size]byte

func newPairAuth(user, pass string) pairAuth { return sha256.Sum256([]byte(user + ":" + pass)) }

func (want pairAuth) answer(_ *gale.RequestCtx, user, pass string) authAnswer {
	got := newPairAuth(user, pass)
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return authWrong
	}
	return authRight
}

// fileAuth accepts the names and passwords of a file.
type fileAuth struct {
	file   *passwordFile
	checks *passwordChecks
}

func (a *fileAuth) answer(ctx *gale.RequestCtx, user, pass string) authAnswer {
	if len(pass) > maxPassword {
		return authTooLong
	}
	now := time.Now()
	hash, known := a.file.users(now).find(user)
	return a.checks.answer(shares.ClientOf(ctx.ClientIP()), credential{user, pass, hash, known}, now)
}

// userKey is the key of the user value that holds the name of an authenticated user.
type userKey struct{}

// requestUser returns the name that the request has proved with a password, or "". It is
// UTF-8 without control characters.
func requestUser(ctx *gale.RequestCtx) string {
	user, _ := ctx.UserValue(userKey{}).(string)
	return user
}

// withAuth asks for a name and password (RFC 7617).
func withAuth(h gale.RequestHandler, auth authenticator) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		user, pass, ok := ctx.BasicAuth()
		answer := authWrong
		if ok && utf8.ValidString(user) && utf8.ValidString(pass) {
			answer = auth.answer(ctx, user, pass)
		}
		if answer != authRight {
			refuseUser(ctx, answer)
			return
		}
		ctx.SetUserValue(userKey{}, user)
		h(ctx)
	}
}

// refuseUser answers a request that didn't prove who sends it. The body of the request is
// not read: a client that waits for 100 gets this response at once.
func refuseUser(ctx *gale.RequestCtx, answer authAnswer) {
	status, text := gale.StatusUnauthorized, "A user name and a password are required."
	switch answer {
	case authTooLong:
		text = "The password is too long: at most 72 bytes count."
	case authEnough:
		status, text = gale.StatusTooManyRequests, "Too many passwords from your address are being checked. Try again in a few seconds."
	case authBusy:
		status, text = gale.StatusServiceUnavailable, "Too many passwords are being checked. Try again in a few seconds."
	}
	errorPage(ctx, status, text)
	if status == gale.StatusUnauthorized {
		ctx.Response.Header.Set(gale.HeaderWWWAuthenticate, `Basic realm="gale", charset="UTF-8"`)
		return
	}
	ctx.Response.Header.Set(gale.HeaderRetryAfter, "3")
}
