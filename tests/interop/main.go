// SPDX-License-Identifier: Apache-2.0

// Starts dd-trace-go, which publishes a process context and no thread contexts, and burns.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/DataDog/dd-trace-go/v2/ddtrace/tracer"
)

func main() {
	tracer.Start()
	defer tracer.Stop()
	seconds, _ := strconv.Atoi(os.Args[1])
	fmt.Println(os.Getpid(), "none", "none")
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
	}
}
