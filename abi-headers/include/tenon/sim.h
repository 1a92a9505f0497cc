/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * The simulated device's vendor library. Answers are 0 or a number of ACL's; `tenon_sim_error_name` tells
 * its name. A null stream is the default stream of the calling thread's device. Device addresses
 * fault when the host dereferences them.
 */

#ifndef TENON_SIM_H
#define TENON_SIM_H

#include <stddef.h>
#include <stdint.h>

#endif  /* TENON_SIM_H */
