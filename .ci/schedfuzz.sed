# Fits the proofs of schedfuzz to the names that helpers of package gale's tests have.
s/\bts\.dial()/ts.Dial()/
s/\bhs\.dialH2()/hs.DialH2()/
s/\bc\.send(get(/c.Send(peers.Get(/
s/\bc\.send(/c.Send(/
s/\bc\.br\./c.Br./
s/\bc\.connect(/c.Connect(/
s/\bc\.open(/c.Open(/
s/\beachH2(t,/peers.EachWay(t,/
s/&testLog{}/\&peers.Log{}/
s/\bawait(t,/await.Until(t,/
s/&upgradeFuncs{closed:/\&proofUpgrade{/
/^import (/a\
	"github.com/galehttp/gale/tests/harness/await"\
	"github.com/galehttp/gale/tests/harness/peers"
$a\
\
type proofUpgrade struct {\
	closed func(*UpgradedConn, error)\
}\
\
func (u *proofUpgrade) Opened(*UpgradedConn) {}\
func (u *proofUpgrade) Received(c *UpgradedConn, in []byte) int { return len(in) }\
func (u *proofUpgrade) Stalled(c *UpgradedConn, _ error) { c.Close() }\
func (u *proofUpgrade) Closed(c *UpgradedConn, err error) { u.closed(c, err) }
