/** Congestion controls, and the pacer: BBR, Reno, none. */
package io.kcp4j.internal.congestion;
