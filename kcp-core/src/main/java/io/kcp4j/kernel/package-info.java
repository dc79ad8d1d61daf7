/** How the fastest of several implementations of a loop is found: not for users. */
package io.kcp4j.kernel;
