/**
 * Fuzz targets: whatever a peer or an attacker may send, made by a coverage-guided fuzzer. Each
 * target has one method that takes the bytes of one execution; {@link io.kcp4j.fuzz.FuzzTest} runs
 * all of them.
 */
package io.kcp4j.fuzz;
