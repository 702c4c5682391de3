package process

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// quotaOf returns how many cores' worth of CPU time the cgroups of a process may use, or 0
// if there is no limit. The limit of each parent counts too.
func quotaOf(pid int) float64 {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return 0
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0
	}
	limit := 0.0
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		isV2 := parts[1] == ""
		if !isV2 && !hasWord(parts[1], "cpu") {
			continue
		}
		folder, root := groupFolder(string(mounts), isV2)
		if folder == "" {
			continue
		}
		inside := "/" + strings.TrimPrefix(strings.TrimPrefix(parts[2], root), "/")
		if q := quotaIn(folder, path.Clean(inside), isV2); q > 0 && (limit == 0 || q < limit) {
			limit = q
		}
	}
	return limit
}

// groupFolder returns where the cgroups of the CPU controller are mounted, and which of
// them is mounted there.
func groupFolder(mounts string, isV2 bool) (folder, root string) {
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		from, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(from) < 5 || len(kind) < 3 {
			continue
		}
		if isV2 && kind[0] == "cgroup2" || !isV2 && kind[0] == "cgroup" && hasWord(kind[2], "cpu") {
			return from[4], from[3]
		}
	}
	return "", ""
}

// quotaIn returns the smallest limit of a cgroup and its parents, or 0.
func quotaIn(folder, group string, isV2 bool) (limit float64) {
	for {
		q := 0.0
		if isV2 {
			q = quotient(readWords(folder + group + "/cpu.max"))
		} else {
			q = quotient(append(readWords(folder+group+"/cpu.cfs_quota_us"), readWords(folder+group+"/cpu.cfs_period_us")...))
		}
		if q > 0 && (limit == 0 || q < limit) {
			limit = q
		}
		if group == "/" || group == "." {
			return limit
		}
		group = path.Dir(group)
	}
}

// quotient divides a quota by its period. It returns 0 if there is no limit.
func quotient(words []string) float64 {
	if len(words) != 2 {
		return 0
	}
	quota, err1 := strconv.ParseFloat(words[0], 64) // "max" and -1 are no limit
	period, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil || !(quota > 0) || !(period > 0) {
		return 0
	}
	return quota / period
}

func readWords(name string) []string {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// hasWord reports whether a list with commas has a word.
func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}
